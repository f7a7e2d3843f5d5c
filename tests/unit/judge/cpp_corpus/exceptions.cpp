#include <bits/stdc++.h>
using namespace std;
struct E:runtime_error{using runtime_error::runtime_error;
};
int main(){try{try{throw E("x");
}catch(...){throw_with_nested(logic_error("y"));
}}catch(exception&e){cout<<e.what();
try{rethrow_if_nested(e);
}catch(E&q){cout<<q.what();
}}exception_ptr p=make_exception_ptr(1);
system_error s(make_error_code(errc::io_error));
cout<<s.what()<<s.code();
}
