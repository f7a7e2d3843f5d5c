import gradini

print(gradini.ways(int(input())))
