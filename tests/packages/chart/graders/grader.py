import chart

print(chart.mark(int(input())))
